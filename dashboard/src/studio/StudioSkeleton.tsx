import { Group, Skeleton, VisuallyHidden } from "@mantine/core";
import { FILM_ORDER } from "../projects/step-words.ts";
import screen from "./screen.module.css";
import strip from "./strip.module.css";
import classes from "./studio.module.css";

/** The studio before its project is there, in the same sizes. */
export function StudioSkeleton() {
  return (
    <>
      <VisuallyHidden component="h1">Studio</VisuallyHidden>
      <VisuallyHidden role="status">Reading the project</VisuallyHidden>
      <div aria-hidden>
        <div className={classes.about}>
          <div className={classes.film}>
            <Group h={28}>
              <Skeleton h={16} w={80} />
            </Group>
            <Skeleton h={34} w="40%" mb="lg" />
            <Skeleton className={classes.texts} />
          </div>
          <Skeleton className={classes.reference} />
        </div>
        <div className={strip.strip}>
          {FILM_ORDER.map((step) => (
            <div key={step} className={strip.step} data-step={step}>
              <div className={strip.film}>
                <div className={screen.screen} />
              </div>
              <div className={strip.body}>
                <Skeleton h={150} />
              </div>
            </div>
          ))}
        </div>
      </div>
    </>
  );
}
