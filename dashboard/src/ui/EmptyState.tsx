import { Stack, Text, Title } from "@mantine/core";
import type { Icon } from "@tabler/icons-react";
import type { ReactNode } from "react";

type Props = { Icon: Icon; title: string; text: string; action?: ReactNode };

/** What stands where there is nothing yet: why, and what to do. */
export function EmptyState({ Icon, title, text, action }: Props) {
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
