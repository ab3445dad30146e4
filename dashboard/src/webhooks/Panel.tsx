import { Card, Group, Title } from "@mantine/core";
import { type ReactNode, useId } from "react";

type Props = { title: string; actions?: ReactNode; children: ReactNode };

/** A part of a page under its own heading. */
export function Panel({ title, actions, children }: Props) {
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
