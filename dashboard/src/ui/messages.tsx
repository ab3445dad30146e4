import { Alert, Button, Code, Group, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconAlertTriangle } from "@tabler/icons-react";
import { KeyframeError } from "../../../client/index.ts";
import { errorSentence } from "./errors.ts";

type Props = { title: string; error: unknown; onRetry?: () => void };

/** An error with its request id and, where it can help, a retry button. */
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

/** A toast for success. Errors show where they happened. */
export function notify(message: string): void {
  notifications.show({ message, closeButtonProps: { "aria-label": "Dismiss" } });
}
