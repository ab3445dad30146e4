import { Anchor, Stack, Text } from "@mantine/core";
import { Link } from "react-router";
import { CodeBlock } from "../ui/CodeBlock.tsx";
import { VERIFY_CODE } from "./verify-code.ts";

/** How a receiver knows that an event is from Keyframe. */
export function VerifySignature() {
  return (
    <Stack gap="xs">
      <Text size="sm">
        What Keyframe sends to your{" "}
        <Anchor component={Link} to="/webhooks" inherit underline="always">
          webhook endpoints
        </Anchor>
        , signed by Standard Webhooks. Verify the raw body before anything parses it, store the event under its{" "}
        <code>webhook-id</code>, answer 204, and do the work afterwards.
      </Text>
      <CodeBlock label="Verify the signature" code={VERIFY_CODE} />
    </Stack>
  );
}
