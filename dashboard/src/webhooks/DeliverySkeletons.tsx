import { Skeleton, Stack, VisuallyHidden } from "@mantine/core";

/** Rows to be. */
export function DeliverySkeletons() {
  return (
    <Stack gap={1}>
      <VisuallyHidden role="status">Reading the deliveries</VisuallyHidden>
      {[0, 1, 2, 3, 4].map((row) => (
        <Skeleton key={row} h={52} radius={0} aria-hidden />
      ))}
    </Stack>
  );
}
