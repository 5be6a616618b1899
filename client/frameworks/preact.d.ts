/** `<halftruth-form>` in JSX of Preact. */

import type { HTMLAttributes } from "preact";
import type { FormAttributes, HalftruthForm, FormListeners } from "halftruth-client/form";

export * from "halftruth-client/form";

declare module "preact" {
  namespace JSX {
    interface IntrinsicElements {
      "halftruth-form": HTMLAttributes<HalftruthForm> & FormAttributes & FormListeners<"on">;
    }
  }
}
