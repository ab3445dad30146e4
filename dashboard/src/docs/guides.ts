import { type Guide, GUIDES } from "./guide-list.ts";

/** The text of each page, loaded when it is opened or searched. */
const TEXTS = import.meta.glob<string>(["../../../docs/*.md", "../../../client/README.md"], {
  query: "?raw",
  import: "default",
});

export async function readGuide({ path }: Guide): Promise<string> {
  const load = TEXTS[`../../../${path}`];
  if (load === undefined) throw new Error(`${path} is not part of this build.`);
  return await load();
}

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
