import { Stack } from "@mantine/core";
import { memo } from "react";
import { CodeBlock } from "../ui/CodeBlock.tsx";
import classes from "./docs.module.css";
import { useDocs } from "./docs-context.ts";
import { Paragraphs } from "./Paragraphs.tsx";
import { SchemaTree } from "./SchemaTree.tsx";

/** One component of the document, and a value that fits it. Kept, while others open and the filter is typed. */
export const SchemaDetails = memo(({ name }: { name: string }) => {
  const { document, makeSample } = useDocs();
  const schema = document.components?.schemas?.[name];
  if (schema === undefined) return null;
  return (
    <div className={classes.columns}>
      <Stack gap="sm" miw={0}>
        <Paragraphs text={schema.description ?? ""} />
        <SchemaTree schema={schema} />
      </Stack>
      <CodeBlock label={`A sample of ${name}`} code={JSON.stringify(makeSample(schema), null, 2)} />
    </div>
  );
});
SchemaDetails.displayName = "SchemaDetails";
