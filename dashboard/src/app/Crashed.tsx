import { Button, Center, Stack, Text, Title } from "@mantine/core";
import { useEffect } from "react";

/** What the three families of browsers, and Vite, say of a script or style that does not come. */
const NOT_LOADED = /dynamically imported module|importing a module script|preload css/i;

/**
 * What stands where something broke. A part that could not be loaded is tried again once there is a network; without one it
 * is most often a newer dashboard on the server, and loading anew helps.
 */
export function Crashed({ error }: { error: Error }) {
  const isNotLoaded = NOT_LOADED.test(error.message);
  useEffect(() => {
    if (!isNotLoaded) return;
    const reload = () => window.location.reload();
    window.addEventListener("online", reload);
    return () => window.removeEventListener("online", reload);
  }, [isNotLoaded]);
  return (
    <Center mih="50dvh" p="md">
      <Stack align="center" role="alert">
        <Title order={1} size="h3" ta="center">
          {isNotLoaded ? "This page could not be loaded" : "Something broke on this page"}
        </Title>
        <Text c="dimmed" ta="center">
          {isNotLoaded ? "Check your connection. The dashboard may also have been renewed meanwhile." : error.message}
        </Text>
        <Button onClick={() => window.location.reload()}>Load it again</Button>
      </Stack>
    </Center>
  );
}
