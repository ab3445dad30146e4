import { Marked, type Token, type Tokens } from "marked";
import { addressOf, anchorOf, GUIDES } from "./guides.ts";

/** A block of code, which can be copied, or the HTML between two blocks. */
export type Part = { code: string } | { html: string };

/** The Markdown of a page of this project as HTML. `path`: the page's own, for its links. */
export function renderGuide(markdown: string, path: string): Part[] {
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        if (depth === 1) return ""; // the page has its title
        return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>`;
      },
      link({ href, tokens }) {
        return linkOf(href, path, this.parser.parseInline(tokens));
      },
    },
  });
  const parts: Part[] = [];
  let between: Token[] = [];
  const end = () => {
    if (between.length > 0) parts.push({ html: marked.parser(between) });
    between = [];
  };
  for (const token of marked.lexer(markdown)) {
    if (token.type !== "code") between.push(token);
    else {
      end();
      parts.push({ code: (token as Tokens.Code).text }); // its type says so
    }
  }
  end();
  return parts;
}

/** A link of the repository: to a guide if it is one, else the name of the file. */
function linkOf(href: string, from: string, text: string): string {
  if (/^[a-z]+:/.test(href)) return `<a href="${href}" target="_blank" rel="noreferrer">${text}</a>`;
  const { pathname, hash } = new URL(href, `file:///${from}`);
  const path = pathname.slice(1);
  const guide = GUIDES.find((one) => one.path === path);
  if (guide !== undefined) return `<a href="#${addressOf(guide, hash.slice(1))}">${text}</a>`;
  return text.includes(path) ? text : `${text} (<code>${path}</code>)`;
}
