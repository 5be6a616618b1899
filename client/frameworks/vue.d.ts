/** `<halftruth-form>` in templates and JSX of Vue. */

import type { DefineComponent, HTMLAttributes } from "vue";
import type { FormAttributes, FormEvents } from "halftruth-client/form";

export * from "halftruth-client/form";

type Capitals = { [K in keyof FormEvents as `on${Capitalize<K>}`]?: (event: FormEvents[K]) => void };
type Props = HTMLAttributes & FormAttributes & Capitals;

declare module "vue" {
  interface GlobalComponents {
    "halftruth-form": DefineComponent<Props>;
  }
}
