import { Alert, Code, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { Prediction } from "../../../client/index.ts";

/** Why a run failed, and whether running it again can help. */
export function RunFailure({ error }: { error: NonNullable<Prediction["error"]> }) {
  return (
    <Alert color="red" p="sm" icon={<IconAlertTriangle size={18} aria-hidden />} title={error.message}>
      <Text size="sm">
        {error.retryable
          ? "Running it again can help."
          : "Running it again as it is will not help: change the prompt or the image first."}
      </Text>
      <Text size="xs" mt={4}>
        <Code>{error.code}</Code>
      </Text>
    </Alert>
  );
}
