import { Text } from "@mantine/core";
import { answerOf } from "./answer-of.ts";
import { useDocs } from "./docs-context.ts";
import { FieldTable } from "./FieldTable.tsx";
import { headerRows } from "./header-rows.ts";
import { Inline } from "./Inline.tsx";
import type { ApiOperation } from "./operations-of.ts";
import { Part } from "./Part.tsx";
import { SchemaTree } from "./SchemaTree.tsx";

/** The success: what stands in `data` of the envelope, and the headers. */
export function AnswerPart({ operation: { responses, isEvent } }: { operation: ApiOperation }) {
  const { document } = useDocs();
  const answer = answerOf(document, responses);
  if (answer === null) return null;
  const { status, response, schema, isEnveloped } = answer;
  const headers = headerRows(document, response);
  return (
    <>
      <Part title={isEvent ? `Your answer: ${status}` : `Answer: ${status}`}>
        <Text size="sm">
          <Inline
            text={isEnveloped ? "Beside `success: true` and `error: null`, `data` has:" : (response.description ?? "")}
          />
        </Text>
        {schema !== null && <SchemaTree schema={schema} isAnswer />}
      </Part>
      {headers.length > 0 && (
        <Part title="Headers of the answer">
          <FieldTable caption="Headers of the answer" rows={headers} />
        </Part>
      )}
    </>
  );
}
