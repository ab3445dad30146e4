import { Button, Text } from "@mantine/core";
import classes from "./screen.module.css";

/** Where a file did not load, with a fresh address either. */
export function BrokenMedia({ onRetry }: { onRetry: () => void }) {
  return (
    <div className={classes.message} role="alert">
      <Text size="sm">The file could not be loaded.</Text>
      <Button size="compact-sm" variant="white" onClick={onRetry}>
        Try again
      </Button>
    </div>
  );
}
