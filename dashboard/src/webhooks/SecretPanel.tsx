import { Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconEye, IconEyeOff } from "@tabler/icons-react";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { Panel } from "./Panel.tsx";
import { RotateWindow } from "./RotateWindow.tsx";
import { SecretText } from "./SecretText.tsx";
import { useSecret } from "./use-secret.ts";

/** The secret that signs: hidden until it is asked for, copied, replaced. */
export function SecretPanel({ webhookId }: { webhookId: string }) {
  const { secret, reveal, show, hide } = useSecret(webhookId);
  const [isRotating, { open, close }] = useDisclosure(false);
  return (
    <Panel title="Secret">
      <Stack>
        <Text size="sm" c="dimmed">
          Signs each request, so that your server knows who sent it.
        </Text>
        {secret !== null && <SecretText secret={secret} />}
        {reveal.error !== null && <ErrorNotice title="The secret could not be read" error={reveal.error} />}
        <Group gap="xs">
          <BusyButton
            variant="default"
            size="xs"
            isBusy={reveal.isPending}
            aria-expanded={secret !== null}
            leftSection={secret === null ? <IconEye size={16} aria-hidden /> : <IconEyeOff size={16} aria-hidden />}
            onClick={secret === null ? () => reveal.mutate() : hide}
          >
            {secret === null ? "Show it" : "Hide it"}
          </BusyButton>
          <Button variant="default" size="xs" onClick={open}>
            Rotate…
          </Button>
        </Group>
      </Stack>
      <RotateWindow webhookId={webhookId} isOpen={isRotating} onClose={close} onRotated={show} />
    </Panel>
  );
}
