import { Text, UnstyledButton } from "@mantine/core";
import { IconChevronRight } from "@tabler/icons-react";
import { useState } from "react";
import { describeSchema } from "./describe-schema.ts";
import classes from "./docs.module.css";
import { useDocs } from "./docs-context.ts";
import { FieldLimits } from "./FieldLimits.tsx";
import { Inline } from "./Inline.tsx";
import { lookInto } from "./look-into.ts";
import type { Schema } from "./open-api.ts";
import { SchemaTree } from "./SchemaTree.tsx";
import { TypeWords } from "./TypeWords.tsx";

type Props = { name: string; mark: string | null; schema: Schema; isAnswer: boolean };

/** One field, with a button for the fields below it. */
export function SchemaField({ name, mark, schema, isAnswer }: Props) {
  const { document } = useDocs();
  const facts = describeSchema(schema);
  // What has a name can be a page long, and contain itself.
  const [isOpen, setOpen] = useState(facts.reference === null);
  const inside = lookInto(document, facts);
  const count = inside.fields.length + inside.variants.length;
  return (
    <li>
      <code className={classes.name}>{name}</code> <TypeWords facts={facts} mark={mark} />
      {(facts.description || inside.description) !== "" && (
        <Text size="sm">
          <Inline text={facts.description || inside.description} />
        </Text>
      )}
      <FieldLimits facts={{ ...inside, limits: [...new Set([...facts.limits, ...inside.limits])] }} />
      {count > 0 && (
        <UnstyledButton className={classes.more} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <IconChevronRight size={14} aria-hidden className={classes.chevron} />
          {isOpen ? "Hide" : "Show"} the fields of {name}
        </UnstyledButton>
      )}
      {isOpen && count > 0 && <SchemaTree schema={schema} isAnswer={isAnswer} />}
    </li>
  );
}
