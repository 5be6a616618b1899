/** Types of `<halftruth-form>` for scripts, and for templates of React and Vue. */

import type { Submission } from "../client.js";
import type { HalftruthForm } from "./element.js";
// @ts-ignore
import type { DetailedHTMLProps, HTMLAttributes as ReactAttributes } from "react";
// @ts-ignore
import type { HTMLAttributes as VueAttributes, PublicProps } from "vue";

/** Attributes as pages and templates write them. */
export interface FormAttributes {
  /** Id of the survey. */
  survey: string;
  /** Address of the collector; that of the page by default. */
  collector?: string;
  /** The largest amplification to accept: a survey that protects less is refused. */
  "max-gamma": string | number;
  /** Attributes that may be sent unperturbed, with blanks between them. */
  unprotected?: string;
  /** Digests of the surveys that may be answered, with blanks between them. */
  digests?: string;
  /** Public keys of which one must have signed the survey, with blanks between them. */
  "operator-keys"?: string;
  /** The largest amplification to accept of all reports from this browser together. */
  "max-total-gamma"?: string | number;
  /** What lets the report in where the survey asks for one. */
  invitation?: string;
  /** Minutes above 0 after a whole multiple of which the report is sent. */
  "send-every"?: string | number;
  /** Whether only what was drawn for this browser is asked, or all. */
  ask?: "drawn" | "all";
  /** Whether the browser's Back key goes a page back, for one form of a page. */
  history?: boolean | "" | "true" | "false";
}

/** Properties that reflect the attributes; null takes an attribute away. */
export interface Properties {
  get survey(): string;
  set survey(value: string | null | undefined);
  get collector(): string;
  set collector(value: string | null | undefined);
  get maxGamma(): string;
  set maxGamma(value: string | number | null | undefined);
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

/** Events; none ever holds an answer. */
export interface FormEvents {
  /** A report was counted or is with the relay, now or from before, or waits. */
  submitted: CustomEvent<Submission>;
  /** Nothing is asked or sent, and why. */
  refused: CustomEvent<{ message: string }>;
  /** A person chose another language: what a page around the form may show in it. */
  language: CustomEvent<{
    language: string;
    direction: "ltr" | "rtl";
    title: string;
    description: string;
  }>;
}

/** Listeners that know what an event holds. */
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
 * Listeners as attributes of Preact and Svelte. Those of React are added by a `ref`: it adds none that
 * are properties where a server rendered the page.
 */
export type FormListeners = {
  [K in keyof FormEvents as `on${K}`]?: (event: FormEvents[K]) => void;
};

/** Listeners as Vue names them. */
type VueListeners = {
  [K in keyof FormEvents as `on${Capitalize<K>}`]?: (event: FormEvents[K]) => void;
};

/** Vue checks a bound attribute (`:max-gamma`) under its name in camel case. */
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

// A project has one of these frameworks, or none: what is not installed is left out.
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
