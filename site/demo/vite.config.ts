import { mergeConfig } from "vite";
import dashboard from "../../dashboard/vite.config.ts";

/** The dashboard as it is, with a script before its own that answers what it asks. */
export default mergeConfig(dashboard, {
  plugins: [
    {
      name: "demo",
      transformIndexHtml: {
        order: "pre",
        handler: (html: string) =>
          html
            .replace("<title>Keyframe</title>", "<title>Keyframe demo</title>")
            .replace('<script type="module"', '<script type="module" src="../site/demo/entry.ts"></script>$&'),
      },
    },
  ],
});
