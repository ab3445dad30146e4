import { Button, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "react-router";
import type { CreatedWebhook as Created } from "../../../client/index.ts";
import { HowToVerify } from "./HowToVerify.tsx";
import { SecretText } from "./SecretText.tsx";
import { SendTest } from "./SendTest.tsx";

/** The secret of a new endpoint, what to do with it, and a first test. */
export function CreatedWebhook({ webhook, onClose }: { webhook: Created; onClose: () => void }) {
  return (
    <Stack>
      <Text size="sm">
        Events go to <strong style={{ overflowWrap: "anywhere" }}>{webhook.url}</strong> from now on.
      </Text>
      <div>
        <Title order={3} size="h5" mb={6}>
          Its secret
        </Title>
        <SecretText secret={webhook.secret} />
        <Text size="sm" c="dimmed" mt="xs">
          You can see it again on the endpoint's page.
        </Text>
      </div>
      <div>
        <Title order={3} size="h5" mb={6}>
          How to verify
        </Title>
        <HowToVerify />
      </div>
      <Group justify="flex-end">
        <SendTest webhook={webhook} />
        <Button component={Link} to={`/webhooks/${webhook.webhookId}`} onClick={onClose} data-autofocus>
          To the endpoint
        </Button>
      </Group>
    </Stack>
  );
}
