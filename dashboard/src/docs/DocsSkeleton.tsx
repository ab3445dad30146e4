import { Skeleton, Stack, VisuallyHidden } from "@mantine/core";

const ROWS = ["a", "b", "c", "d", "e", "f", "g", "h"];

export function DocsSkeleton() {
  return (
    <Stack>
      <VisuallyHidden role="status">Reading the reference</VisuallyHidden>
      <Skeleton height={230} radius="md" />
      <Skeleton height={36} radius="md" />
      <Skeleton height={28} width={140} radius="md" />
      {ROWS.map((row) => (
        <Skeleton key={row} height={50} radius="md" />
      ))}
    </Stack>
  );
}
