import { Group, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { ReactNode } from "react";

type Props = { title: string; text?: string; actions?: ReactNode };

/** The heading of a page, which is also the title of the window. */
export function PageHead({ title, text, actions }: Props) {
  useDocumentTitle(`${title} · Keyframe`);
  return (
    <Group justify="space-between" align="flex-start" mb="lg">
      <Stack gap={4} miw={0} style={{ overflowWrap: "anywhere" }}>
        <Title order={1} size="h2">
          {title}
        </Title>
        {text !== undefined && <Text c="dimmed">{text}</Text>}
      </Stack>
      {actions}
    </Group>
  );
}
