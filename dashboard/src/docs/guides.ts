/** The text of each page, loaded when it is opened or searched. */
const TEXTS = import.meta.glob<string>(["../../../docs/*.md", "../../../client/README.md"], {
  query: "?raw",
  import: "default",
});

/** `isReference`: to look something up, not to read. */
export type Guide = { name: string; title: string; path: string; isReference: boolean };

const page = (name: string, title: string, isReference = true, path = `docs/${name}.md`): Guide => ({
  name,
  title,
  path,
  isReference,
});

/** In the order in which a new reader needs them. */
export const GUIDES: Guide[] = [
  page("quickstart", "Start", false),
  page("react", "First film in React", false),
  page("going-live", "Going live", false),
  page("costs", "Money", false),
  page("when-it-fails", "When it fails", false),
  page("client", "Typed client", true, "client/README.md"),
  page("webhooks", "Receive webhooks", true, "docs/receive-webhooks.md"),
  page("realtime", "Realtime"),
  page("engines", "Workflow engines"),
  page("agents", "Agents"),
  page("simulator", "Simulator"),
  page("models", "Models"),
  page("install", "Install in an app"),
  page("deploy", "Deploy"),
  page("upgrade", "Upgrade"),
  page("first-run", "First run with accounts"),
  page("administer", "Administer"),
  page("operate", "Operate"),
  page("workers", "Workers as processes"),
  page("scale", "Scale"),
  page("architecture", "Architecture"),
  page("security", "Threat model"),
  page("benchmarks", "Benchmarks"),
];

export async function readGuide({ path }: Guide): Promise<string> {
  const load = TEXTS[`../../../${path}`];
  if (load === undefined) throw new Error(`${path} is not part of this build.`);
  return await load();
}

/** The anchor of a heading, as GitHub makes it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");

/** Where a part of a guide is in the dashboard. */
export const addressOf = ({ name }: Guide, anchor: string): string =>
  `/docs/${name}${anchor === "" ? "" : `?at=${encodeURIComponent(anchor)}`}`;

type Section = { guide: Guide; heading: string; text: string };

/** All guides by their headings, to search in. */
export async function readSections(): Promise<Section[]> {
  const guides = await Promise.all(GUIDES.map(async (guide) => ({ guide, text: await readGuide(guide) })));
  return guides.flatMap(({ guide, text }) =>
    text.split(/^(?=##+ )/m).map((part) => {
      const [, heading = ""] = /^##+ (.+)$/m.exec(part) ?? [];
      return { guide, heading: heading.replaceAll("`", ""), text: part };
    }),
  );
}
