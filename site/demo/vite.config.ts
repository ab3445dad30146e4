import dashboard from "../../dashboard/vite.config.ts";

/** The dashboard as it is, with a script before its own that answers what it asks. */
export default {
  ...dashboard,
  build: { ...dashboard.build, emptyOutDir: false }, // it has the recording
  plugins: [
    ...(dashboard.plugins ?? []),
    {
      name: "demo",
      transformIndexHtml: {
        order: "pre" as const,
        handler: (html: string) =>
          html
            .replace("<title>Keyframe</title>", "<title>Keyframe demo</title>")
            .replace('<script type="module"', '<script type="module" src="../site/demo/entry.ts"></script>$&'),
      },
    },
  ],
};
