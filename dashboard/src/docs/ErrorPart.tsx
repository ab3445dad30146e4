import { Table, Text, VisuallyHidden } from "@mantine/core";
import { BreakableCode } from "./BreakableCode.tsx";
import classes from "./docs.module.css";
import { errorsOf } from "./errors-of.ts";
import { Inline } from "./Inline.tsx";
import type { Response } from "./open-api.ts";
import { Part } from "./Part.tsx";

/** Every other answer: its status, its stable code, and what to do. */
export function ErrorPart({ responses }: { responses: [status: string, response: Response][] }) {
  const errors = errorsOf(responses);
  if (errors.length === 0) return null;
  return (
    <Part title="Other answers">
      <Table className={classes.table} verticalSpacing="xs" horizontalSpacing={0} layout="fixed">
        <caption>
          <VisuallyHidden>Other answers</VisuallyHidden>
        </caption>
        <Table.Thead>
          <Table.Tr>
            <Table.Th w="38%">Status and code</Table.Th>
            <Table.Th>Meaning</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {errors.map(({ status, code, meaning }) => (
            <Table.Tr key={`${status} ${code}`}>
              <Table.Th scope="row">
                <span className={classes.status}>{status}</span> {code !== null && <BreakableCode text={code} />}
              </Table.Th>
              <Table.Td>
                <Text size="sm">
                  <Inline text={meaning} />
                </Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Part>
  );
}
