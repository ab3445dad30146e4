import { Stack, Title } from "@mantine/core";
import type { ReactNode } from "react";

type Props = { title: string; children: ReactNode };

/** One part of what there is to know, under its heading. */
export function Part({ title, children }: Props) {
  return (
    <Stack gap="xs" miw={0}>
      <Title order={4} size="sm">
        {title}
      </Title>
      {children}
    </Stack>
  );
}
