import { Group, Stack, Text, Title } from "@mantine/core";
import { CodeBlock } from "../ui/CodeBlock.tsx";
import { answerOf } from "./answer-of.ts";
import { clientCodeOf } from "./client-code-of.ts";
import { curlOf } from "./curl-of.ts";
import { useDocs } from "./docs-context.ts";
import { LanguageChoice } from "./LanguageChoice.tsx";
import type { Example } from "./open-api.ts";
import type { ApiOperation } from "./operations-of.ts";

const SAMPLE_ID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/** Requests to copy, and an answer as it comes. What the client leaves to the operator is shown as curl alone. */
export function Examples({ operation }: { operation: ApiOperation }) {
  const { document, functionsUrl, makeSample, language } = useDocs();
  const inClient = operation.examples.some((example) => clientCodeOf(operation, example) !== null);
  const codeOf = (example: Example) =>
    (language === "curl" ? null : clientCodeOf(operation, example)) ?? curlOf(operation, example, functionsUrl);
  const answer = answerOf(document, operation.responses);
  return (
    <Stack gap="sm" miw={0}>
      <Group justify="space-between" gap="xs">
        <Title order={4} size="sm">
          Examples
        </Title>
        {inClient && <LanguageChoice label={`Language of the examples of ${operation.id}`} />}
      </Group>
      {operation.examples.map((example) => (
        <CodeBlock key={example.summary} label={example.summary} code={codeOf(example)} />
      ))}
      {SAMPLE_ID.test(JSON.stringify(operation.examples)) && (
        <Text size="xs">The identifiers are samples: put yours in their place.</Text>
      )}
      {answer?.schema && answer.isEnveloped && (
        <CodeBlock
          label={`Answer: ${answer.status}`}
          code={JSON.stringify({ success: true, data: makeSample(answer.schema), error: null }, null, 2)}
        />
      )}
    </Stack>
  );
}
