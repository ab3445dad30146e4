import { Alert, Code, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { Prediction } from "../../../client/index.ts";

/** Where neither the prompt nor the image is at fault. */
const OTHER_REMEDY: Record<string, string> = {
  provider_model_not_found: "Running it again will not help until an administrator has chosen another model.",
  output_too_large:
    "Running it again as it is will not help: a shorter video, or a higher upload limit in Storage, will.",
};

/** Why a run failed, and whether running it again can help. */
export function RunFailure({ error }: { error: NonNullable<Prediction["error"]> }) {
  return (
    <Alert color="red" p="sm" icon={<IconAlertTriangle size={18} aria-hidden />} title={error.message}>
      <Text size="sm">
        {error.retryable
          ? "Running it again can help."
          : (OTHER_REMEDY[error.code] ??
            "Running it again as it is will not help: change the prompt or the image first.")}
      </Text>
      <Text size="xs" mt={4}>
        <Code>{error.code}</Code>
      </Text>
    </Alert>
  );
}
