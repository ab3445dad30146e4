import { basename } from "node:path";
import { renderMermaidSVG } from "beautiful-mermaid";

const DIAGRAM = /^```mermaid\n(.*?)^```$/gms;
const COLOURS = { light: { bg: "#ffffff", fg: "#1f2328" }, dark: { bg: "#1b1b1f", fg: "#dfdfd6" } };

/**
 * A page whose diagrams are pictures, in both colour schemes and from top to bottom, because a column of text is narrow; and the pictures by
 * name, which are to lie beside the page.
 */
export function diagramsOf(markdown: string, file: string): { text: string; pictures: [name: string, svg: string][] } {
  const pictures: [string, string][] = [];
  const text = markdown.replaceAll(DIAGRAM, (_, given: string) => {
    const source = given.replace(/^flowchart LR/, "flowchart TD");
    const tags = Object.entries(COLOURS).map(([scheme, colours]) => {
      const name = `${basename(file, ".md")}-${pictures.length}-${scheme}.svg`;
      pictures.push([name, renderMermaidSVG(source, colours).replaceAll(/@import[^;]+;/g, "")]); // a font of another host
      return `<img class="diagram for-${scheme}" src="./${name}" alt="Diagram: ${altOf(source)}">`;
    });
    return tags.join("\n");
  });
  return { text, pictures };
}

/** The diagram's own text, without what draws it. */
const altOf = (source: string): string =>
  source
    .replaceAll(/<br\/>/g, " ")
    .replaceAll(/[^\w\s,;:.-]/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
