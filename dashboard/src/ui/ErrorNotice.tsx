import { Alert, Button, Code, Group, Stack, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { KeyframeError } from "../../../client/index.ts";
import { errorSentence } from "./error-sentence.ts";

type Props = { title: string; error: unknown; onRetry?: () => void };

/** A failure in words, with the number that finds it in the log and, where it can help, a way to try again. */
export function ErrorNotice({ title, error, onRetry }: Props) {
  const requestId = error instanceof KeyframeError ? error.requestId : null;
  return (
    <Alert color="red" role="alert" title={title} icon={<IconAlertTriangle aria-hidden />}>
      <Stack gap="xs">
        <Text size="sm">{errorSentence(error)}</Text>
        {requestId !== null && (
          <Text size="xs">
            Request <Code>{requestId}</Code>
          </Text>
        )}
        {onRetry !== undefined && (
          <Group>
            <Button size="xs" variant="default" onClick={onRetry}>
              Try again
            </Button>
          </Group>
        )}
      </Stack>
    </Alert>
  );
}
