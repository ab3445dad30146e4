import { Anchor, Code, Stack, Text } from "@mantine/core";
import { CopyButton } from "../ui/CopyButton.tsx";
import { GuideLink } from "../ui/GuideLink.tsx";

const SAMPLE = `import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET);
// body: the bytes as they came, before any JSON.parse
const event = webhook.verify(body, request.headers); // throws: answer 401`;

export const HowToVerify = () => (
  <Stack gap="xs">
    <Text size="sm">
      Store it on your server as <code>WEBHOOK_SECRET</code>, like a password. It signs each request, as defined by{" "}
      <Anchor inherit underline="always" href="https://www.standardwebhooks.com" target="_blank" rel="noreferrer">
        Standard Webhooks
      </Anchor>
      : verify the raw body, store the event under its <code>webhook-id</code>, answer 204, then do the work.
    </Text>
    <Code block>{SAMPLE}</Code>
    <Text size="sm" c="dimmed">
      Complete receivers in Node, Deno and Python, and libraries for other languages:{" "}
      <GuideLink path="docs/receive-webhooks.md" />.
    </Text>
  </Stack>
);

export const SecretText = ({ secret }: { secret: string }) => (
  <div>
    <Code block fz="sm" style={{ userSelect: "all" }}>
      {secret}
    </Code>
    <CopyButton text={secret} label="Copy secret" size="xs" mt="xs" />
  </div>
);
