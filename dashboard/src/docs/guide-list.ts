/** `group`: what a reader wants with it. `path`: in the repository. */
export type Guide = { name: string; title: string; path: string; group: string };

const group = (name: string, pages: [name: string, title: string, path?: string][]): Guide[] =>
  pages.map(([page, title, path = `docs/${page}.md`]) => ({ name: page, title, path, group: name }));

export const START = "Start";

/** In the order in which somebody new needs them. The dashboard and the site show this list. */
export const GUIDES: Guide[] = [
  ...group(START, [
    ["quickstart", "Start"],
    ["react", "First film in React"],
    ["going-live", "Going live"],
    ["costs", "Money"],
    ["when-it-fails", "When it fails"],
  ]),
  ...group("Use it", [
    ["client", "Typed client", "client/README.md"],
    ["webhooks", "Receive webhooks", "docs/receive-webhooks.md"],
    ["realtime", "Realtime"],
    ["engines", "Workflow engines"],
    ["agents", "Agents"],
    ["simulator", "Simulator"],
  ]),
  ...group("Run it", [
    ["models", "Models"],
    ["install", "Install in an app"],
    ["deploy", "Deploy"],
    ["upgrade", "Upgrade"],
    ["first-run", "First run with accounts"],
    ["administer", "Administer"],
    ["operate", "Operate"],
    ["workers", "Workers as processes"],
    ["scale", "Scale"],
  ]),
  ...group("Trust it", [
    ["security", "Threat model"],
    ["benchmarks", "Benchmarks"],
    ["compare", "Compare"],
  ]),
  ...group("Change it", [
    ["architecture", "Architecture"],
    ["first-frame", "How a first frame is made"],
  ]),
];

/** The anchor of a heading, as GitHub makes it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
