/** Types of `<halftruth-form>` for scripts, and for templates of React and Vue. */

import type { Submission } from "../client.js";
import type { HalftruthForm } from "./element.js";
// @ts-ignore
import type { DetailedHTMLProps, HTMLAttributes as ReactAttributes } from "react";
// @ts-ignore
import type { HTMLAttributes as VueAttributes, PublicProps } from "vue";

/** Attributes of `<halftruth-form>`, as written in HTML and in templates. */
export interface FormAttributes {
  /** Id of the survey. */
  survey: string;
  /** Address of the collector; by default, the origin of the page. */
  collector?: string;
  /** Largest accepted amplification γ. A survey with a larger one is refused. */
  "max-gamma": string | number;
  /** Largest accepted amplification of an answer, instead of `max-gamma`, if the survey promises by answer. */
  "max-answer-gamma"?: string | number;
  /** Names of attributes that may be sent unperturbed, separated by blanks. */
  unprotected?: string;
  /** Digests of the accepted surveys, separated by blanks. */
  digests?: string;
  /** Accepted public keys for the signature of the survey, separated by blanks. */
  "operator-keys"?: string;
  /** Largest accepted total amplification of all reports from this browser at this web address. */
  "max-total-gamma"?: string | number;
  /** Invitation, if the survey requires one. */
  invitation?: string;
  /** Minutes, at most 1440. The report is sent at a whole multiple of them; by default at once. */
  "send-every"?: string | number;
  /** `drawn` (default): ask only the questions that are drawn for this browser. `all`: ask all. */
  ask?: "drawn" | "all";
  /** Whether the browser's Back button goes back one page of the form; for one form on a page. */
  history?: boolean | "" | "true" | "false";
}

/** Properties that reflect the attributes; null and undefined remove the attribute. */
export interface Properties {
  get survey(): string;
  set survey(value: string | null | undefined);
  get collector(): string;
  set collector(value: string | null | undefined);
  get maxGamma(): string;
  set maxGamma(value: string | number | null | undefined);
  get maxAnswerGamma(): string;
  set maxAnswerGamma(value: string | number | null | undefined);
  get unprotected(): string;
  set unprotected(value: string | readonly string[] | null | undefined);
  get digests(): string;
  set digests(value: string | readonly string[] | null | undefined);
  get operatorKeys(): string;
  set operatorKeys(value: string | readonly string[] | null | undefined);
  get maxTotalGamma(): string;
  set maxTotalGamma(value: string | number | null | undefined);
  get invitation(): string;
  set invitation(value: string | null | undefined);
  get sendEvery(): string;
  set sendEvery(value: string | number | null | undefined);
  get ask(): string;
  set ask(value: "drawn" | "all" | null | undefined);
  get history(): string;
  set history(value: boolean | "" | "true" | "false" | null | undefined);
}

/** Events of `<halftruth-form>`. No event contains an answer. */
export interface FormEvents {
  /** A report was accepted by the collector or relay, now or before, or is stored for a retry. */
  submitted: CustomEvent<Submission>;
  /** The survey cannot be answered, the report was refused, or the answers are invalid. */
  refused: CustomEvent<{ message: string }>;
  /** A person chose another language. The detail has texts for the page around the form. */
  language: CustomEvent<{
    language: string;
    direction: "ltr" | "rtl";
    title: string;
    description: string;
  }>;
}

/** Methods for event listeners, typed by the events of the target. */
export interface TypedEvents<Events> {
  addEventListener<K extends keyof Events>(
    type: K,
    listener: (event: Events[K]) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  removeEventListener<K extends keyof Events>(
    type: K,
    listener: (event: Events[K]) => void,
    options?: boolean | EventListenerOptions,
  ): void;
}

/**
 * Listeners as attributes of Preact and Svelte. In React, add listeners by a `ref`: React does not
 * add listener properties to server-rendered pages.
 */
export type FormListeners = {
  [K in keyof FormEvents as `on${K}`]?: (event: FormEvents[K]) => void;
};

/** Listeners, by their names in Vue. */
type VueListeners = {
  [K in keyof FormEvents as `on${Capitalize<K>}`]?: (event: FormEvents[K]) => void;
};

/** Vue checks a bound attribute (`:max-gamma`) by its name in camel case. */
type Camel<S extends string> = S extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : S;
type Bound = { [K in keyof FormAttributes as Camel<K>]: FormAttributes[K] };
type FormProps = (FormAttributes & Partial<Bound>) | (Bound & Partial<FormAttributes>);

declare global {
  interface HTMLElementTagNameMap {
    "halftruth-form": HalftruthForm;
  }
}

// Frameworks are optional: declarations for modules that are not installed are ignored.
// @ts-ignore
declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "halftruth-form": DetailedHTMLProps<ReactAttributes<HalftruthForm>, HalftruthForm> &
        FormAttributes;
    }
  }
}

// @ts-ignore
declare module "vue" {
  interface GlobalComponents {
    "halftruth-form": new () => HalftruthForm & {
      $props: VueAttributes & PublicProps & FormProps & VueListeners;
    };
  }
}
