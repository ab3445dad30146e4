import { Divider, Group } from "@mantine/core";
import { useLocation } from "react-router";
import { useServices } from "../services.ts";
import { CredentialFields, FormLink, SessionForm } from "./SessionForm.tsx";
import { checkEmail, checkPassword, useAuthForm } from "./use-auth-form.ts";
import { BusyButton } from "../ui/Buttons.tsx";

export default function SignInPage() {
  const { auth, config } = useServices();
  const { search } = useLocation();
  const { field, run, props } = useAuthForm({ email: checkEmail, password: checkPassword }, (credentials) =>
    auth.signInWithPassword(credentials),
  );
  const { demoUser } = config;
  return (
    <SessionForm
      title="Sign in"
      submit="Sign in"
      {...props}
      links={
        <>
          <Group justify="space-between">
            <FormLink to={`/sign-up${search}`}>Create an account</FormLink>
            <FormLink to="/reset-password">Forgot your password?</FormLink>
          </Group>
          {demoUser !== null && (
            <>
              <Divider label="or" />
              <BusyButton variant="default" onClick={() => run(demoUser)} isDisabled={props.isBusy}>
                Continue as demo user
              </BusyButton>
            </>
          )}
        </>
      }
    >
      <CredentialFields field={field} isNew={false} />
    </SessionForm>
  );
}
