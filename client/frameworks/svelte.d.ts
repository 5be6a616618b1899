/** `<halftruth-form>` in templates of Svelte. */

import type { HTMLAttributes } from "svelte/elements";
import type { FormAttributes, HalftruthForm, FormListeners } from "halftruth-client/form";

export * from "halftruth-client/form";

declare module "svelte/elements" {
  interface SvelteHTMLElements {
    "halftruth-form": HTMLAttributes<HalftruthForm> & FormAttributes & FormListeners<"on">;
  }
}
