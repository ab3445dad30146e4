import { Grid, Skeleton, Stack, VisuallyHidden } from "@mantine/core";

/** The page of an endpoint to be. */
export function EndpointSkeleton() {
  return (
    <>
      <VisuallyHidden role="status">Reading the endpoint</VisuallyHidden>
      <Grid aria-hidden gap="lg">
        <Grid.Col span={{ base: 12, md: 8 }}>
          <Stack gap="lg">
            <Skeleton h={370} />
            <Skeleton h={400} />
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 4 }}>
          <Stack gap="lg">
            <Skeleton h={420} />
            <Skeleton h={200} />
          </Stack>
        </Grid.Col>
      </Grid>
    </>
  );
}
