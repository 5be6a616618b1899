/** An existing HTML form whose answers are perturbed before anything is sent. */

import { Client } from "../client.js";
import { ParameterError, SurveyRefused } from "../errors.js";
import { checkInvitation } from "../terms.js";
import { Questionnaire } from "./questionnaire.js";

/**
 * Send what people enter into a form as a report of a survey, and never as it is.
 *
 * The form has one control for each attribute, of the attribute's name, with the categories or a
 * number as values; options of a question with several answers may be boxes of the question's name,
 * with the options as values. It must have `method="dialog"` and no `action`, so that a browser
 * without this script sends nothing.
 *
 * @param {HTMLFormElement} form
 * @param {object} options
 * @param {string} options.survey Its id.
 * @param {string} options.collector Address of the collector.
 * @param {string | number} options.maxGamma Largest amplification to accept.
 * @param {readonly string[]} [options.unprotected] Attributes that may be sent as they are.
 * @param {readonly string[]} [options.operatorKeys]
 *   Public keys of operators: a survey that none of them signed is refused.
 * @param {string} [options.invitation] What lets the report in where the survey asks for one.
 * @returns {Promise<import("../survey.js").Survey>} The survey; the form dispatches `submitted` and
 *   `refused` as `<halftruth-form>` does.
 */
export async function attach(form, options) {
  const { survey: id, collector, maxGamma, unprotected, operatorKeys, invitation } = options;
  if (canSend(form)) {
    throw new ParameterError(
      'form: expected method="dialog" and no action, so that nothing is sent as it is',
      "form",
    );
  }
  form.setAttribute("autocomplete", "off");
  /** @type {Promise<import("../survey.js").Survey> | undefined} */
  let fetched;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const survey = await fetched;
      if (survey === undefined) return;
      const submission = await client.submit(survey, entries(form, survey.schema), {
        invitation,
      });
      tell(form, "submitted", submission);
    } catch (error) {
      tell(form, "refused", { message: error instanceof Error ? error.message : String(error) });
    }
  });
  const client = new Client(collector, { maxGamma, unprotected, operatorKeys });
  fetched = client.flush().then(() => openSurvey(client, id, invitation));
  return fetched;
}

/**
 * @param {Client} client
 * @param {string} id
 * @param {string} [invitation]
 */
async function openSurvey(client, id, invitation) {
  const survey = await client.survey(id);
  if (survey.isClosed) throw new SurveyRefused(`survey '${id}' is closed`, "status");
  if (client.before(id, await survey.digest()) !== null) return survey;
  checkInvitation(survey, invitation);
  if (survey.terms.invitations && invitation !== undefined) {
    if ((await client.isUnspent(survey, invitation)) === false) {
      throw new SurveyRefused("invitation: it was used before, or withdrawn", "invitation");
    }
  }
  return survey;
}

/**
 * Whether a browser could send what is entered as it is.
 *
 * @param {HTMLFormElement} form
 */
function canSend(form) {
  if (form.getAttribute("method")?.toLowerCase() !== "dialog" || form.hasAttribute("action")) {
    return true;
  }
  // A button of pictures is none of the form's elements, and may stand elsewhere in the page.
  const around = /** @type {Document | ShadowRoot} */ (form.getRootNode());
  const pictures = [...around.querySelectorAll("input[type=image i]")].filter(
    (input) => input instanceof HTMLInputElement && input.form === form,
  );
  return [...form.elements, ...pictures].some(
    (control) => control.hasAttribute("formaction") || control.hasAttribute("formmethod"),
  );
}

/**
 * The record that a form holds: what is empty is left out, and so is what is not asked of such a
 * person, whatever still stands in its controls.
 *
 * @param {HTMLFormElement} form
 * @param {import("../schema.js").Schema} schema
 */
function entries(form, schema) {
  const data = new FormData(form);
  const questionnaire = new Questionnaire(schema);
  for (const { name, attributes, optional } of schema.questions) {
    const chosen = data.getAll(name);
    for (const attribute of attributes) {
      const value = data.get(attribute.name);
      if (typeof value === "string" && value !== "") questionnaire.set([[attribute.name, value]]);
      else if (attribute.question && form.elements.namedItem(name) !== null) {
        const none = attribute.missing.find((category) => chosen.includes(category));
        const answer = chosen.includes(attribute.option) ? "yes" : "no";
        const left = optional && chosen.length === 0;
        questionnaire.set([[attribute.name, left ? null : (none ?? answer)]]);
      }
    }
  }
  return questionnaire.record();
}

/**
 * @param {HTMLFormElement} form
 * @param {string} name
 * @param {unknown} detail
 */
function tell(form, name, detail) {
  form.dispatchEvent(new CustomEvent(name, { detail, bubbles: true }));
}
