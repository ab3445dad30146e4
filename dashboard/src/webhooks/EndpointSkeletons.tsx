import { Card, Skeleton, Stack, VisuallyHidden } from "@mantine/core";
import classes from "./webhooks.module.css";

/** Cards to be: of the same size as what comes, so that nothing jumps. */
export function EndpointSkeletons({ count }: { count: number }) {
  return (
    <>
      <VisuallyHidden role="status">Reading your endpoints</VisuallyHidden>
      <div className={classes.list} aria-hidden>
        {Array.from({ length: count }, (_, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
          <Card key={at} withBorder padding="lg">
            <div className={classes.endpoint}>
              <Stack gap={10}>
                <Skeleton h={16} w={110} />
                <Skeleton h={22} w="60%" />
                <Skeleton h={14} w="85%" />
                <Skeleton h={16} w={130} />
              </Stack>
              <Skeleton h={126} />
            </div>
          </Card>
        ))}
      </div>
    </>
  );
}
