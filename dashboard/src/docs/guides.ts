/** The guides that the pages link to. They load when they are opened. */
export const GUIDES = {
  quickstart: {
    title: "Quickstart",
    path: "docs/quickstart.md",
    load: () => import("../../../docs/quickstart.md?raw"),
  },
  client: { title: "The typed client", path: "client/README.md", load: () => import("../../../client/README.md?raw") },
  webhooks: {
    title: "Receive webhooks",
    path: "docs/receive-webhooks.md",
    load: () => import("../../../docs/receive-webhooks.md?raw"),
  },
  simulator: {
    title: "Provoke failures",
    path: "docs/simulator.md",
    load: () => import("../../../docs/simulator.md?raw"),
  },
  realtime: { title: "Realtime", path: "docs/realtime.md", load: () => import("../../../docs/realtime.md?raw") },
};

export const isGuide = (name: string): name is keyof typeof GUIDES => Object.hasOwn(GUIDES, name);
