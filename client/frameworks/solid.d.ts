/** `<halftruth-form>` in JSX of Solid. */

import type { JSX } from "solid-js";
import type { FormAttributes, HalftruthForm, FormListeners } from "halftruth-client/form";

export * from "halftruth-client/form";

declare module "solid-js" {
  namespace JSX {
    interface IntrinsicElements {
      "halftruth-form": JSX.HTMLAttributes<HalftruthForm> & FormAttributes & FormListeners<"on:">;
    }
  }
}
