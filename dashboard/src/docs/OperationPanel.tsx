import { Group, SegmentedControl, Typography } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { type ReactNode, useEffect, useRef } from "react";
import { CopyButton } from "../ui/CopyButton.tsx";
import { answersOf, callOf, commandOf, type Field, fieldsOf, type Own, type Place, typeOf } from "./api-document.ts";
import { ROUTES } from "../../../client/routes.ts";
import classes from "./docs.module.css";

export function OperationPanel({ place, own, token }: { place: Place; own: Own; token: string }) {
  const { description, security, parameters = [], requestBody, "x-examples": examples = [] } = place.operation;
  const panel = useRef<HTMLDivElement>(null);
  const [language, setLanguage] = useLocalStorage({ key: "keyframe-samples", defaultValue: SHELL });
  // Scrolled to when the address names it, or when a longer one above it closes.
  useEffect(() => {
    const { top = 0 } = panel.current?.getBoundingClientRect() ?? {};
    if (top < 0 || top > window.innerHeight / 2) panel.current?.scrollIntoView();
  }, []);
  return (
    <Typography fz="sm" ref={panel} className={classes.panel}>
      <Sentences text={description} />
      <p>
        Credentials: {security.map((schemes) => Object.keys(schemes).join(" and ") || "none").join(", or ") || "none"}
      </p>
      {Object.hasOwn(ROUTES, place.operation.operationId) && (
        <SegmentedControl
          size="xs"
          mb="sm"
          aria-label="Language of the samples"
          data={[SHELL, "TypeScript"]}
          value={language}
          onChange={setLanguage}
        />
      )}
      {examples.map((example) => {
        const call = language === SHELL ? null : callOf(place, example, own);
        const command = call ?? commandOf(place, example, own);
        return (
          <section key={example.summary}>
            <Group justify="space-between">
              <h4>{example.summary}</h4>
              <CopyButton
                size="xs"
                text={command.replace("$TOKEN", token)}
                label={command.includes("$TOKEN") ? "Copy with your token" : "Copy"}
              />
            </Group>
            <pre>{command}</pre>
          </section>
        );
      })}
      {parameters.length > 0 && <h4>Parameters</h4>}
      <Fields of={parameters.map((one) => [one.name, one.schema, one.required ? `${one.in}, required` : one.in])} />
      {Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) => (
        <section key={type}>
          <h4>Body: {type}</h4>
          <Fields of={fieldsOf(schema)} />
        </section>
      ))}
      <h4>Answers</h4>
      <Fields of={answersOf(place.operation)} />
    </Typography>
  );
}

const SHELL = "Shell";

const Fields = ({ of }: { of: Field[] }) => (
  <ul>
    {of.map(([name, schema, note]) => (
      <li key={name}>
        <code>{name}</code> {[note, typeOf(schema)].filter(Boolean).join(", ")}
        <Sentences text={schema.description ?? ""} />
        {schema.example !== undefined && <pre>{JSON.stringify(schema.example, null, 2)}</pre>}
        {fieldsOf(schema).length > 0 && (
          <details>
            <summary>Fields of {name}</summary>
            <Fields of={fieldsOf(schema)} />
          </details>
        )}
      </li>
    ))}
  </ul>
);

/** The Markdown of descriptions: paragraphs, and code between backticks. */
export const Sentences = ({ text }: { text: string }): ReactNode =>
  text.split("\n\n").map((paragraph) => (
    <p key={paragraph}>
      {paragraph.split("`").map((part, at) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text never move
        at % 2 === 1 ? <code key={at}>{part}</code> : part,
      )}
    </p>
  ));
