import { describeSchema } from "./describe-schema.ts";
import classes from "./docs.module.css";
import { useDocs } from "./docs-context.ts";
import { FieldLimits } from "./FieldLimits.tsx";
import { SchemaField } from "./SchemaField.tsx";
import { TypeWords } from "./TypeWords.tsx";
import { lookInto } from "./look-into.ts";
import type { Schema } from "./open-api.ts";

type Props = {
  schema: Schema;
  /** In an answer it is worth saying what may be absent, in a request what may not. */
  isAnswer?: boolean;
};

/** The fields of a schema, or what it is where it has none. Fields of fields open on request. */
export function SchemaTree({ schema, isAnswer = false }: Props) {
  const { document } = useDocs();
  const facts = describeSchema(schema);
  const inside = lookInto(document, facts);
  if (inside.fields.length === 0 && inside.variants.length === 0) {
    return (
      <div>
        <TypeWords facts={facts} mark={null} />
        <FieldLimits facts={inside} />
      </div>
    );
  }
  return (
    <ul className={classes.tree}>
      {inside.fields.map(({ name, isRequired, schema: field }) => (
        <SchemaField
          key={name}
          name={name}
          mark={isRequired === isAnswer ? null : isAnswer ? "optional" : "required"}
          schema={field}
          isAnswer={isAnswer}
        />
      ))}
      {inside.variants.map((variant, at) => (
        <SchemaField
          key={JSON.stringify(variant)}
          name={`Variant ${at + 1}`}
          mark={null}
          schema={variant}
          isAnswer={isAnswer}
        />
      ))}
    </ul>
  );
}
