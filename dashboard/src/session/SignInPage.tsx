import { Anchor, Divider, Group } from "@mantine/core";
import { useForm } from "@mantine/form";
import { Link, useLocation } from "react-router";
import { useServices } from "../services.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { CredentialFields, type Credentials, focusFirstError, SessionForm } from "./SessionForm.tsx";
import { checkEmail, checkPassword, useAuthForm } from "./use-auth-form.ts";

export function Component() {
  const { auth, config } = useServices();
  const { search } = useLocation();
  const { run, isBusy, problem } = useAuthForm((credentials: Credentials) => auth.signInWithPassword(credentials));
  const form = useForm<Credentials>({
    mode: "uncontrolled",
    initialValues: { email: "", password: "" },
    validate: { email: checkEmail, password: checkPassword },
  });
  const { demoUser } = config;
  return (
    <SessionForm
      title="Sign in"
      submit="Sign in"
      problem={problem}
      isBusy={isBusy}
      onSubmit={form.onSubmit((values) => run(values), focusFirstError(form))}
      links={
        <>
          <Group justify="space-between">
            <Anchor component={Link} to={`/sign-up${search}`} size="sm">
              Create an account
            </Anchor>
            <Anchor component={Link} to="/reset-password" size="sm">
              Forgot your password?
            </Anchor>
          </Group>
          {demoUser !== null && (
            <>
              <Divider label="or" />
              <BusyButton variant="default" onClick={() => run(demoUser)} isOff={isBusy}>
                Continue as demo user
              </BusyButton>
            </>
          )}
        </>
      }
    >
      <CredentialFields form={form} isNew={false} />
    </SessionForm>
  );
}
