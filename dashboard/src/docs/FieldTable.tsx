import { Table, Text, VisuallyHidden } from "@mantine/core";
import { describeSchema } from "./describe-schema.ts";
import classes from "./docs.module.css";
import { FieldLimits } from "./FieldLimits.tsx";
import { Inline } from "./Inline.tsx";
import type { Schema } from "./open-api.ts";
import { TypeWords } from "./TypeWords.tsx";

type Row = { name: string; isRequired: boolean; description: string; schema: Schema };

/** Parameters or headers: two columns, so that it fits a phone. */
export function FieldTable({ caption, rows }: { caption: string; rows: Row[] }) {
  return (
    <Table className={classes.table} verticalSpacing="xs" horizontalSpacing={0} layout="fixed">
      <caption>
        <VisuallyHidden>{caption}</VisuallyHidden>
      </caption>
      <Table.Thead>
        <Table.Tr>
          <Table.Th w="38%">Name</Table.Th>
          <Table.Th>Meaning</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map(({ name, isRequired, description, schema }) => {
          const facts = describeSchema(schema);
          return (
            <Table.Tr key={name}>
              <Table.Th scope="row">
                <code className={classes.name}>{name}</code>
                <TypeWords facts={facts} mark={isRequired ? "required" : null} />
              </Table.Th>
              <Table.Td>
                <Text size="sm">
                  <Inline text={description} />
                </Text>
                <FieldLimits facts={facts} />
              </Table.Td>
            </Table.Tr>
          );
        })}
      </Table.Tbody>
    </Table>
  );
}
