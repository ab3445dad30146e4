import { Container, Group, Paper, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Brand } from "../ui/Brand.tsx";

type Props = { children: ReactNode; above?: ReactNode };

/** Brand, card and a line below it. From the top rather than in the middle: what is said in the card then moves nothing above. */
export function SessionFrame({ children, above }: Props) {
  return (
    <Container component="main" size={452} w="100%" px="md" pb="md" pt="clamp(1rem, 14vh, 9rem)">
      <Stack>
        <Group justify="center">
          <Brand />
        </Group>
        {above}
        <Paper withBorder p="xl">
          {children}
        </Paper>
        <Text size="sm" c="dimmed" ta="center">
          Films from words, on your own backend.
        </Text>
      </Stack>
    </Container>
  );
}
