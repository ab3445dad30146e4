import { Card, Skeleton, Text } from "@mantine/core";
import classes from "./projects.module.css";

/** Cards to be: of the same size as what comes, so that nothing jumps. */
export function CardSkeletons({ count }: { count: number }) {
  return Array.from({ length: count }, (_, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
    <Card key={at} withBorder padding="md" aria-hidden>
      <Card.Section>
        <div className={classes.picture}>
          <Skeleton h="100%" radius={0} />
        </div>
      </Card.Section>
      <Skeleton mt="sm" h={28} w="60%" />
      <Text size="sm" component="div" className={classes.excerpt}>
        <Skeleton h={14} mt={4} />
        <Skeleton h={14} mt={8} w="80%" />
      </Text>
      <div className={classes.steps}>
        {["a", "b", "c"].map((key) => (
          <Skeleton key={key} h={14} my={2} w="70%" />
        ))}
      </div>
      <Skeleton h={12} w={90} className={classes.when} />
    </Card>
  ));
}
