import { Code } from "@mantine/core";
import type { SchemaFacts } from "./describe-schema.ts";
import classes from "./docs.module.css";

/** Which values there may be: choices, limits, the default and an example. */
export function FieldLimits({ facts }: { facts: SchemaFacts }) {
  const { values, limits, unknown, fields } = facts;
  const example = fields.length > 0 ? null : facts.example; // an object's example stands beside it, whole
  if (values.length + limits.length === 0 && facts.default === null && example === null && unknown === null)
    return null;
  return (
    <div className={classes.limits}>
      {values.length > 0 && (
        <span>
          {values.length === 1 ? "always " : "one of "}
          {values.map((value) => (
            <Code key={value} className={classes.value}>
              {value}
            </Code>
          ))}
        </span>
      )}
      {limits.map((limit) => (
        <span key={limit}>{limit}</span>
      ))}
      {facts.default !== null && (
        <span>
          default <Code className={classes.value}>{facts.default}</Code>
        </span>
      )}
      {example !== null && (
        <span>
          for example <Code className={classes.value}>{example}</Code>
        </span>
      )}
      {unknown !== null && <Code block>{unknown}</Code>}
    </div>
  );
}
