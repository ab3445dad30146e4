import {
  type ApiDocument,
  answersOf,
  callOf,
  commandOf,
  type Field,
  fieldsOf,
  followReferences,
  typeOf,
} from "./api-document.ts";

const ADDRESS = "http://127.0.0.1:54321/functions/v1";

/** Fields of fields of fields are in openapi.json. */
const MAX_LEVELS = 3;

/** The API reference as Markdown, one page for each tag of openapi.json. */
export function apiPages(openapi: object): { file: string; title: string; markdown: string }[] {
  const document = followReferences(openapi, openapi) as ApiDocument; // made of the same contract, and tested against the standard
  const places = Object.entries({ ...document.paths, ...document.webhooks }).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, operation, path, address: ADDRESS + path })),
  );
  const pages = document.tags.map(({ name, description }) => {
    const operations = places.filter(({ operation }) => operation.tags.includes(name)).map(describe);
    return {
      file: `api/${name.toLowerCase()}.md`,
      title: name,
      markdown: `# ${name}\n\n${text(description)}\n\n${operations.join("\n\n")}\n`,
    };
  });
  const tags = document.tags.map(
    ({ name, description }, at) => `- [${name}](./${pages[at]?.file.slice(4)}): ${text(description)}`,
  );
  const about = `# API reference\n\n${text(document.info.description)}\n\n${tags.join("\n")}\n
Made of [openapi.json](/openapi.json){target="_self"}, OpenAPI 3.1. The samples ask the stack that \`npm start\` runs, with the session's access token in
\`$TOKEN\`; a word in capitals stands for an identifier.\n`;
  return [{ file: "api/index.md", title: "API reference", markdown: about }, ...pages];

  function describe(place: (typeof places)[number]): string {
    const { method, path, operation } = place;
    const { summary, description, security, parameters = [], requestBody, "x-examples": examples = [] } = operation;
    const credentials = security.map((one) => Object.keys(one).join(" and ") || "none").join(", or ") || "none";
    const samples = examples.map((example) => {
      const call = callOf(place, example);
      const shell = `\`\`\`sh\n${commandOf(place, example)}\n\`\`\``;
      return `**${example.summary}**\n\n${shell}${call === null ? "" : `\n\n\`\`\`ts\n${call}\n\`\`\``}`;
    });
    const given: Field[] = parameters.map((one) => [
      one.name,
      one.schema,
      one.required ? `${one.in}, required` : one.in,
    ]);
    const bodies = Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) => {
      const fields = fieldsOf(schema);
      return `Body: \`${type}\`${fields.length === 0 ? "" : `\n\n${list(fields)}`}`;
    });
    return [
      `## ${summary}`,
      `\`${method.toUpperCase()} ${path}\``,
      text(description),
      `Credentials: ${credentials}.`,
      ...samples,
      ...(given.length === 0 ? [] : [`Parameters:\n\n${list(given)}`]),
      ...bodies,
      `Answers:\n\n${list(answersOf(operation))}`,
    ].join("\n\n");
  }
}

function list(fields: Field[], level = 0): string {
  return fields
    .map(([name, schema, note]) => {
      const about = [note, typeOf(schema)].filter(Boolean).join(", ");
      const said = text(schema.description ?? "").replaceAll("\n\n", " ");
      const own = `${"  ".repeat(level)}- \`${name}\`${about === "" ? "" : ` ${code(about)}`}${said === "" ? "" : `: ${said}`}`;
      const below = level + 1 < MAX_LEVELS ? fieldsOf(schema) : [];
      return below.length === 0 ? own : `${own}\n${list(below, level + 1)}`;
    })
    .join("\n");
}

/** A type may have characters that Markdown reads. */
const code = (about: string) => (/[<>{}[\]|*_]/.test(about) ? `\`${about.replaceAll("`", "")}\`` : about);

/** The generator reads what is in angle or curly brackets as its own. */
const text = (markdown: string): string =>
  markdown
    .split(/(`[^`]*`)/)
    .map((part, at) => (at % 2 === 1 ? part : part.replaceAll("<", "&lt;").replaceAll("{", "&#123;")))
    .join("");
