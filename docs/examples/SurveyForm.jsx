// The form as a component of React 18 or later: npm install halftruth-client-0.1.0.tgz (made by `make dist`).
// React never sees an answer: the element keeps them to itself, and neither event holds one.
import { useEffect, useRef } from "react";
import "halftruth-client/form";

/**
 * Ask the survey of a collector.
 *
 * @param {object} props
 * @param {string} props.survey Its id.
 * @param {string} props.collector Address of the collector.
 * @param {string} [props.maxGamma] Largest amplification to accept.
 * @param {string} [props.invitation] What lets the report in, where the survey asks for one.
 * @param {(detail: {id: string, status: "accepted" | "duplicate" | "waiting"}) => void} [props.onSubmitted]
 * @param {(detail: {message: string}) => void} [props.onRefused]
 */
export function SurveyForm({
  survey,
  collector,
  maxGamma = "19",
  invitation,
  onSubmitted,
  onRefused,
}) {
  const form = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const element = form.current;
    const submitted = (event) => onSubmitted?.(event.detail);
    const refused = (event) => onRefused?.(event.detail);
    element.addEventListener("submitted", submitted);
    element.addEventListener("refused", refused);
    return () => {
      element.removeEventListener("submitted", submitted);
      element.removeEventListener("refused", refused);
    };
    // The element reads its attributes when it enters the page, so another survey is another element.
  }, [collector, survey, onSubmitted, onRefused]);
  return (
    <halftruth-form
      key={`${collector} ${survey}`}
      ref={form}
      survey={survey}
      collector={collector}
      max-gamma={maxGamma}
      invitation={invitation}
    />
  );
}
