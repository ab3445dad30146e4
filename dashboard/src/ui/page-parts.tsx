import { Card, Group, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { Icon } from "@tabler/icons-react";
import { type ReactNode, useId } from "react";

type Props = { title: string; text?: string; actions?: ReactNode };

/** Page heading and document title. */
export function PageHead({ title, text, actions }: Props) {
  useDocumentTitle(`${title} · Keyframe`);
  return (
    <Group justify="space-between" align="flex-start" mb="lg">
      <Stack gap={4} miw={0} maw="calc(100% - 3rem)" style={{ overflowWrap: "anywhere" }}>
        <Title order={1} size="h2" lineClamp={2} title={title}>
          {title}
        </Title>
        {text !== undefined && <Text c="dimmed">{text}</Text>}
      </Stack>
      {actions}
    </Group>
  );
}

type PanelProps = { title: string; actions?: ReactNode; children: ReactNode };

export function Panel({ title, actions, children }: PanelProps) {
  const id = useId();
  return (
    <Card component="section" withBorder padding="lg" aria-labelledby={id}>
      <Group justify="space-between" mb="md" mih={36}>
        <Title order={2} size="h4" id={id}>
          {title}
        </Title>
        {actions}
      </Group>
      {children}
    </Card>
  );
}

type EmptyStateProps = { Icon: Icon; title: string; text: string; action?: ReactNode };

export function EmptyState({ Icon, title, text, action }: EmptyStateProps) {
  return (
    <Stack align="center" py="xl" gap="sm">
      <Icon size={48} stroke={1.2} aria-hidden opacity={0.6} />
      <Title order={2} size="h4">
        {title}
      </Title>
      <Text c="dimmed" ta="center" maw={440}>
        {text}
      </Text>
      {action}
    </Stack>
  );
}
