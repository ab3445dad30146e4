import { Group, Progress, Text } from "@mantine/core";
import classes from "./reference.module.css";

type Props = {
  /** From 0 to 1. */
  fraction: number;
  bytes: number;
};

/** How far an upload is. When all of it has gone out the service still looks at it and keeps it. */
export function UploadProgress({ fraction, bytes }: Props) {
  const percent = Math.floor(fraction * 100);
  return (
    <Group gap="xs" wrap="nowrap" className={classes.progress}>
      <Progress.Root size="sm" className={classes.bar}>
        <Progress.Section value={percent} aria-label="Upload of the reference image" />
      </Progress.Root>
      <Text size="xs" c="dimmed" className={classes.percent}>
        {percent === 100 ? "Being checked…" : `${percent} % of ${sizeWords(bytes)}`}
      </Text>
    </Group>
  );
}

const sizeWords = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.max(1, Math.round(bytes / 1000))} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
