import { Button, Group, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconTrash } from "@tabler/icons-react";
import { useNavigate } from "react-router";
import type { Webhook } from "../../../client/index.ts";
import { DeleteWebhook } from "./DeleteWebhook.tsx";
import { Panel } from "./Panel.tsx";

/** The way to be rid of an endpoint. */
export function DeletePanel({ webhook }: { webhook: Webhook }) {
  const navigate = useNavigate();
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <Panel title="Delete">
      <Text size="sm" c="dimmed" mb="md">
        Its secrets and its deliveries go with it. To stop events for a while, switch it off.
      </Text>
      <Group>
        <Button variant="default" size="xs" leftSection={<IconTrash size={16} aria-hidden />} onClick={open}>
          Delete the endpoint…
        </Button>
      </Group>
      <DeleteWebhook
        webhook={webhook}
        isOpen={isOpen}
        onClose={close}
        onDeleted={() => void navigate("/webhooks", { replace: true })}
      />
    </Panel>
  );
}
